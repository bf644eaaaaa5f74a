// Browsers start no Worker for a page that is opened from the disk, and the site's search runs in one. On such a page
// this stand-in runs the Worker's script in a hidden frame.
(() => {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const scope = this.frame.contentWindow;
      scope.postMessage = (data) => this.answer(data);
      scope.importScripts = (...urls) => urls.reduce((done, one) => done.then(() => load(scope, one)), Promise.resolve());
      this.ready = load(scope, new URL(url, document.baseURI));
    }

    postMessage(data) {
      const scope = this.frame.contentWindow;
      this.ready.then(() => scope.dispatchEvent(new scope.MessageEvent("message", { data })));
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    terminate() {
      this.frame.remove();
    }
  }

  function load(scope, url) {
    return new Promise((resolve, reject) => {
      const script = scope.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} cannot be loaded`));
      scope.document.head.append(script);
    });
  }

  window.Worker = FrameWorker;
  // The search's script looks for this name to find its neighbours.
  window.IFrameWorker = FrameWorker;
})();
