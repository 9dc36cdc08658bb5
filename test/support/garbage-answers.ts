import type { ReplayAnswer } from './replay-server.ts';

const megabyte = Buffer.alloc(1024 * 1024, 0x20);

/** What a login page of some proxy looks like. */
export const htmlPage: ReplayAnswer = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Sign in</body></html>');
};

/** JSON, in 200 MB of blanks, for as long as somebody reads them. */
export const hugeDocument: ReplayAnswer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  let left = 200;
  const more = (): void => {
    while (left-- > 0) if (!response.write(megabyte)) return;
    response.end('{}');
  };
  response.on('drain', more);
  response.on('error', () => undefined);
  more();
};

/** A document said to be JSON. */
export function jsonText(text: string): ReplayAnswer {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  };
}
