import * as v from 'valibot';

const selector = encodeURIComponent('node-role.kubernetes.io/control-plane');
export const controlPlaneNodes = `/api/v1/nodes?labelSelector=${selector}`;

export const nodeList = v.pipe(
  v.object({
    items: v.array(
      v.object({
        metadata: v.object({ name: v.string() }),
        status: v.object({
          addresses: v.nullish(v.array(v.object({ type: v.string(), address: v.string() })), []),
          conditions: v.nullish(v.array(v.object({ type: v.string(), status: v.string() })), []),
        }),
      }),
    ),
  }),
  v.transform(({ items }) =>
    items.map(({ metadata, status }) => ({
      name: metadata.name,
      addresses: status.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
      isReady: status.conditions.some((each) => each.type === 'Ready' && each.status === 'True'),
    })),
  ),
);
