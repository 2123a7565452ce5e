// A page that was opened from disk may not start a worker. There, the site's search runs in a hidden frame instead.
if (location.protocol === "file:") {
  const later = (give, data) => setTimeout(give, 0, { data: structuredClone(data) }); // as between threads
  window.Worker = class {
    constructor(url) {
      const waiting = [];
      this.postMessage = data => waiting.push(data);
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = `<script src="${url}"></` + "script>";
      this.frame.onload = () => {
        const inside = this.frame.contentWindow;
        inside.postMessage = data => later(event => this.onmessage?.(event), data);
        this.postMessage = data => later(event => inside.onmessage(event), data);
        waiting.forEach(data => this.postMessage(data));
      };
      document.body.append(this.frame);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
