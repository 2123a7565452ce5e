"""The lab: pages in the browser that show what autograd does, by a program of one's own or by recorded ones.

`python -m adjoint lab` serves them on this machine (`server`), where the editor's programs run in a process with limits (`runner`,
`child`). `python -m adjoint lab --static FOLDER` writes the same pages as files that need no Python any more (`static`).
"""
