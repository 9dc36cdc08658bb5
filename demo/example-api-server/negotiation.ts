import { notAcceptable } from './api-error.ts';

/** One media type a client would take, with its parameters. */
export interface AcceptClause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const offered = ['application/json', 'application/yaml'] as const;
export type Encoding = (typeof offered)[number];

/** Form that the client wants objects turned into. */
export type Transformation = 'none' | 'Table' | 'PartialObjectMetadata';

export interface Negotiated {
  readonly encoding: Encoding;
  readonly transformation: Transformation;
}

/** The clauses of an Accept header, best first (RFC 9110 section 12.5.1). An absent header takes anything. */
export function parseAccept(header: string | undefined): AcceptClause[] {
  const clauses = (header ?? '').trim() === '' ? ['*/*'] : (header ?? '').split(',');
  return clauses
    .map((clause) => {
      const [type = '', ...pairs] = clause.split(';').map((part) => part.trim());
      const parameters = new Map<string, string>();
      for (const pair of pairs) {
        const [key = '', value = ''] = pair.split('=');
        parameters.set(key.trim(), value.trim());
      }
      return { type: type.toLowerCase(), parameters };
    })
    .filter(({ parameters }) => weight(parameters) > 0)
    .sort((left, right) => weight(right.parameters) - weight(left.parameters));
}

function weight(parameters: ReadonlyMap<string, string>): number {
  const quality = Number(parameters.get('q') ?? '1');
  return Number.isNaN(quality) ? 1 : quality;
}

/**
 * How objects are answered.
 * @throws {ApiError} NotAcceptable when the client takes nothing that is offered. Protobuf is not.
 */
export function negotiate(header: string | undefined): Negotiated {
  for (const clause of parseAccept(header)) {
    const encoding = encodingOf(clause.type);
    const transformation = encoding === undefined ? undefined : transformationOf(clause.parameters);
    if (encoding !== undefined && transformation !== undefined) return { encoding, transformation };
  }
  throw notAcceptable(offered);
}

/** The encoding a plain type stands for, `undefined` when it is not offered. */
export function encodingOf(type: string): Encoding | undefined {
  if (type === '*/*' || type === 'application/*') return 'application/json';
  return offered.find((candidate) => candidate === type);
}

/** `undefined`: a form that is not known here, so the client's next choice counts. */
function transformationOf(parameters: ReadonlyMap<string, string>): Transformation | undefined {
  const as = parameters.get('as');
  if (as === undefined) return 'none';
  if (parameters.get('g') !== 'meta.k8s.io' || parameters.get('v') !== 'v1') return undefined;
  if (as === 'Table') return 'Table';
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList'
    ? 'PartialObjectMetadata'
    : undefined;
}
