import { type ApiClient, describe } from './api-client.ts';
import { fixtureName, type UsedResource } from './subjects.ts';

/** Reads one object that is always there. */
export async function getFixture(client: ApiClient, resource: UsedResource): Promise<void> {
  await client.ask({ method: 'GET', path: `${resource.collection}/${fixtureName}` }, resource);
}

/** Lists all objects; one that is always there must be among them. */
export async function listAll(client: ApiClient, resource: UsedResource): Promise<void> {
  const request = { method: 'GET', path: resource.collection };
  const answer = await client.ask(request, resource);
  if (answer?.status !== 200) return;
  const list: { readonly items: readonly { readonly metadata: { readonly name: string } }[] } = JSON.parse(
    answer.body,
  );
  if (!list.items.some(({ metadata }) => metadata.name === fixtureName)) {
    client.options.findings.add('failedReads', `${describe(request)}: ${fixtureName} is not in the list`);
  }
}
