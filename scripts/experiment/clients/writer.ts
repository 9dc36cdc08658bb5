import { randomUUID } from 'node:crypto';
import type { ApiClient } from './api-client.ts';
import type { UsedResource } from './subjects.ts';

/** The label by which an object is known to be of one request, however often that arrived. */
export const requestLabel = 'experiment/request';

/** Objects that a writer leaves before it deletes the oldest: lists stay short. */
const kept = 20;

/** Creates objects whose names the server makes, so that a request that arrives twice makes two objects. */
export class Writer {
  readonly #client: ApiClient;
  readonly #resource: UsedResource;
  readonly #made: string[] = [];
  #created = 0;

  constructor(client: ApiClient, resource: UsedResource) {
    this.#client = client;
    this.#resource = resource;
  }

  /** Creations that the server has confirmed. */
  get created(): number {
    return this.#created;
  }

  async write(): Promise<void> {
    const { groupVersion, kind, collection } = this.#resource;
    const body = {
      apiVersion: groupVersion,
      kind,
      metadata: { generateName: 'load-', labels: { [requestLabel]: randomUUID() } },
    };
    const answer = await this.#client.ask({ method: 'POST', path: collection, body }, this.#resource);
    if (answer?.status === 201) {
      const created: { readonly metadata: { readonly name: string } } = JSON.parse(answer.body);
      this.#made.push(created.metadata.name);
      this.#created += 1;
    }
    const oldest = this.#made.length > kept ? this.#made.shift() : undefined;
    if (oldest === undefined) return;
    // A 404 is the response to a deletion that was carried out before its answer got lost.
    await this.#client.ask({ method: 'DELETE', path: `${collection}/${oldest}` }, this.#resource);
  }
}
