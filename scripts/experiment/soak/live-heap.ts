import { readFile } from 'node:fs/promises';

/** Where a process that was started with `--inspect` says that its inspector is. */
const inspectorAddress = /^Debugger listening on (ws:\S+)$/m;

interface InspectorAnswer {
  readonly id?: number;
  readonly result?: { readonly usedSize?: number };
}

/**
 * Collects the garbage of a process through its inspector and tells what is left of its heap: bytes. What a heap
 * holds besides says when V8 thought it worth collecting, and nothing of a leak.
 * @param logFile standard error of the process
 * @throws {Error} when its inspector is not open
 */
export async function liveHeap(logFile: string): Promise<number> {
  const address = inspectorAddress.exec(await readFile(logFile, 'utf8'))?.[1];
  if (address === undefined) throw new Error(`${logFile} names no inspector`);
  const socket = new WebSocket(address);
  try {
    await ask(socket, 'HeapProfiler.collectGarbage');
    const { usedSize } = (await ask(socket, 'Runtime.getHeapUsage')) ?? {};
    if (usedSize === undefined) throw new Error('the inspector did not tell the size of the heap');
    return usedSize;
  } finally {
    socket.close();
  }
}

/** Calls a method of the Chrome DevTools Protocol, one at a time. */
function ask(socket: WebSocket, method: string): Promise<InspectorAnswer['result']> {
  const { promise, resolve, reject } = Promise.withResolvers<InspectorAnswer['result']>();
  const send = (): void => socket.send(JSON.stringify({ id: 1, method }));
  socket.onerror = () => reject(new Error(`the inspector did not answer ${method}`));
  socket.onmessage = ({ data }) => {
    const answer: InspectorAnswer = JSON.parse(String(data));
    if (answer.id === 1) resolve(answer.result);
  };
  if (socket.readyState === WebSocket.OPEN) send();
  else socket.onopen = send;
  return promise;
}
