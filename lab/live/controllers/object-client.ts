import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

/** The parts of an object that rounds need. */
export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Makes and deletes objects as an administrator. What fails is tried again: the controllers are judged, not this. */
export interface ObjectClient {
  create(collection: string, object: object): Promise<StoredObject>;
  get(path: string): Promise<StoredObject | undefined>;
  /** A merge patch (RFC 7386). */
  merge(path: string, patch: object): Promise<void>;
  /** Gives an object a status, unless its `status` is already not empty; read anew for each try. */
  putStatus(path: string, subresource: string, status: object): Promise<void>;
  /** @param body `DeleteOptions` */
  remove(path: string, body?: object): Promise<void>;
}

export function objectClient(origin: string, admin: TlsCredentials): ObjectClient {
  const send = async (method: string, path: string, body?: object, contentType = 'application/json') => {
    const { statusCode, text } = await tlsRequest(`${origin}${path}`, admin, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': contentType }, body: JSON.stringify(body) }),
    });
    return { statusCode, text };
  };
  return {
    async create(collection, object) {
      let made: StoredObject | undefined;
      await waitUntil(`an object is made in ${collection}`, async () => {
        const { statusCode, text } = await send('POST', collection, object);
        if (statusCode === 201) made = JSON.parse(text) as StoredObject;
        else if (statusCode === 409) {
          const { name } = (object as StoredObject).metadata;
          made = JSON.parse((await send('GET', `${collection}/${name}`)).text) as StoredObject;
        } else throw new Error(`${statusCode}: ${text}`);
        return made.metadata.uid !== undefined;
      });
      if (made === undefined) throw new TypeError('nothing was made');
      return made;
    },
    async get(path) {
      let found: StoredObject | undefined;
      await waitUntil(`${path} is read`, async () => {
        const { statusCode, text } = await send('GET', path);
        if (statusCode === 200) found = JSON.parse(text) as StoredObject;
        else if (statusCode !== 404) throw new Error(`${statusCode}: ${text}`);
        return true;
      });
      return found;
    },
    async merge(path, patch) {
      await waitUntil(`${path} is patched`, async () => {
        const { statusCode, text } = await send('PATCH', path, patch, 'application/merge-patch+json');
        if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`);
        return true;
      });
    },
    async putStatus(path, subresource, status) {
      await waitUntil(`${path}/${subresource} is written`, async () => {
        const found = JSON.parse((await send('GET', path)).text) as StoredObject;
        if (Object.keys(found.status ?? {}).length > 0) return true;
        const { statusCode, text } = await send('PUT', `${path}/${subresource}`, { ...found, status });
        if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`);
        return true;
      });
    },
    async remove(path, body) {
      await waitUntil(`${path} is deleted`, async () => {
        const { statusCode, text } = await send('DELETE', path, body);
        if (statusCode === 200 || statusCode === 202 || statusCode === 404 || statusCode === 409) return true;
        throw new Error(`${statusCode}: ${text}`);
      });
    },
  };
}
