// The worker: gets the compiled module first, and then questions. It answers null when the engine broke.
import { call } from "./call";

let instance: WebAssembly.Instance | undefined;
self.onmessage = ({ data }: MessageEvent) => {
  if (data instanceof WebAssembly.Module) {
    instance = new WebAssembly.Instance(data);
    return;
  }
  let answer: string | null = null;
  try {
    if (instance) answer = call(instance, JSON.stringify(data));
  } catch (error) {
    console.error(error);
  }
  self.postMessage(answer);
};
