// The engine in a worker: the page stays usable while it computes, and a worker that takes too long is replaced.

/** A place in a file, as the engine writes it. Line and column are zero if only the file is known. */
export interface Site { file: string; line: number; column: number }
/** What lint found. */
export interface Finding {
  code: string; level: "info" | "warning" | "error"; message: string; site: Site | null; help: string | null;
  notes: { message: string; site: Site | null }[];
}
export interface Question { files: Record<string, string>; node: string | null; time: string }
export interface Answer {
  nodes: string[]; node: string | null; data: string | null; explanation: string | null; messages: string; findings: Finding[];
}

/** The longest that an answer may take, in milliseconds. */
const LONGEST = 10_000;

/** Asks the engine. While it computes, only the newest question waits. */
export class Engine {
  #worker: Worker | null = null;
  #module: WebAssembly.Module | null = null;
  #waiting: Question | null = null;
  #timer = 0;

  constructor(private folder: string, private answered: (answer: Answer) => void) {}

  /** Loads the engine: the only time that the page reads anything. */
  async load(): Promise<void> {
    const packed = await fetch(`${this.folder}/engine.wasm.gz`);
    if (!packed.ok || !packed.body) throw new Error(`the engine cannot be loaded: ${packed.status}`);
    const bytes = packed.body.pipeThrough(new DecompressionStream("gzip"));
    this.#module = await WebAssembly.compile(await new Response(bytes).arrayBuffer());
    // A new worker must not load its script again.
    this.#script = URL.createObjectURL(new Blob([await (await fetch(`${this.folder}/worker.js`)).text()], { type: "text/javascript" }));
  }
  #script = "";

  ask(question: Question): void {
    if (this.#timer) {
      this.#waiting = question;
      return;
    }
    this.#worker ??= this.#start();
    this.#timer = window.setTimeout(() => this.#end("The answer takes more than ten seconds."), LONGEST);
    this.#worker.postMessage(question);
  }

  #start(): Worker {
    const worker = new Worker(this.#script);
    worker.onmessage = ({ data }: MessageEvent<string | null>) =>
      data === null ? this.#end("The engine gave up: the inventory nests too deep for a browser.") : this.#done(JSON.parse(data) as Answer);
    worker.postMessage(this.#module);
    return worker;
  }

  /** Ends a worker that cannot be used any more. */
  #end(messages: string): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#done({ nodes: [], node: null, data: null, explanation: null, messages, findings: [] });
  }

  #done(answer: Answer): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const next = this.#waiting;
    this.#waiting = null;
    this.answered(answer);
    // Who gets an answer may ask for more, with the newest texts.
    if (next && !this.#timer) this.ask(next);
  }
}
