import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { ApiError, PathNotFoundError } from './api-error.ts';
import type { JsonObject } from './kubernetes-object.ts';
import type { Encoding } from './negotiation.ts';

/** Where a stream of an answer goes. */
export interface AnswerStream {
  write(chunk: string): void;
  end(): void;
  /** Calls `listener` once, when the client is gone or the answer has ended. */
  onClose(listener: () => void): void;
}

export type Answer =
  | {
      readonly kind: 'whole';
      readonly code: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | Uint8Array;
    }
  | {
      readonly kind: 'stream';
      readonly code: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly start: (stream: AnswerStream) => void;
    };

export type StreamAnswer = Extract<Answer, { readonly kind: 'stream' }>;

export function objectAnswer(
  object: JsonObject,
  encoding: Encoding = 'application/json',
  code = 200,
): Answer {
  const body = encoding === 'application/yaml' ? stringify(object) : `${JSON.stringify(object)}\n`;
  return { kind: 'whole', code, headers: { 'content-type': encoding }, body };
}

export function textAnswer(code: number, text: string): Answer {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  return { kind: 'whole', code, headers, body: text };
}

export const emptyAnswer = (code: number, headers: Readonly<Record<string, string>>): Answer => ({
  kind: 'whole',
  code,
  headers,
  body: '',
});

/** A failure as it is answered. What is neither of the known errors is a fault of this server: 500. */
export function failureAnswer(error: unknown): Answer {
  if (error instanceof PathNotFoundError) return textAnswer(404, '404 page not found\n');
  if (!(error instanceof ApiError)) {
    return textAnswer(
      500,
      `Internal Server Error: ${error instanceof Error ? error.stack : String(error)}\n`,
    );
  }
  const answer = objectAnswer(error.status, 'application/json', error.code);
  if (error.reason !== 'Forbidden') return answer;
  return { ...answer, headers: { ...answer.headers, 'x-content-type-options': 'nosniff' } };
}

/** From this size on upstream compresses (responsewriters/writers.go). */
const compressionThreshold = 128 * 1024;

/** The answer compressed, where it is big and the client takes gzip. */
export function compressed(answer: Answer, acceptEncoding: string | undefined): Answer {
  if (answer.kind === 'stream' || !/\bgzip\b/.test(acceptEncoding ?? '')) return answer;
  if (answer.body.length <= compressionThreshold) return answer;
  const headers = { ...answer.headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
  return { ...answer, headers, body: gzipSync(answer.body) };
}
