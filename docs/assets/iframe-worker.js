/* Browsers start no workers in pages that are opened as files. There, this class runs the worker of
   the search in a hidden frame; it has those parts of a Worker that the search uses. */
class IFrameWorker extends EventTarget {
  constructor(url) {
    super()
    this.frame = document.createElement("iframe")
    this.frame.hidden = true
    document.body.append(this.frame)
    const own = this.frame.contentWindow
    own.importScripts = (...urls) =>
      urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve())
    own.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
    this.loaded = this.load(url)
  }

  load(url) {
    return new Promise((resolve, reject) => {
      const inside = this.frame.contentDocument
      const script = inside.createElement("script")
      script.src = url
      script.onload = resolve
      script.onerror = reject
      inside.body.append(script)
    })
  }

  postMessage(data) {
    const own = this.frame.contentWindow
    this.loaded.then(() => own.dispatchEvent(new own.MessageEvent("message", { data })))
  }

  terminate() {
    this.frame.remove()
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
}
