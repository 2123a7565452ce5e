// Pages of the lab that are framed in a lesson follow the site's light or dark mode.
{
  const show = () => {
    const theme = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
    for (const frame of document.querySelectorAll("iframe.lab")) {
      frame.dataset.page ??= frame.getAttribute("src");
      const page = frame.dataset.page, address = page + (page.includes("#") ? "&" : "#") + "theme=" + theme;
      if (frame.getAttribute("src") === address) continue;
      const again = frame.cloneNode(); // a frame whose address changes after the # only is not loaded again
      again.src = address;
      frame.replaceWith(again);
    }
  };
  show();
  new MutationObserver(show).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}
