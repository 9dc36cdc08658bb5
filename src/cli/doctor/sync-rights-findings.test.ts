import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as v from 'valibot';
import type { RequestFilter, RequestRecord } from '../../../demo/example-api-server/index.ts';
import { findingsOf, installation } from '../../../test/support/doctor-installation.ts';
import { loadClusterAccess } from '../../sync/node/cluster-access.ts';
import type { Finding } from './finding.ts';
import { type ClusterReader, syncRightsFindings } from './sync-rights-findings.ts';

const check = 'rights of the sync job';
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const reviewSchema = v.object({
  spec: v.object({
    resourceAttributes: v.optional(v.object({ resource: v.string(), verb: v.string() })),
    nonResourceAttributes: v.optional(v.object({ path: v.string() })),
  }),
});

/** A server whose authorizer refuses these, and which answers these paths; everything else goes its way. */
function refusing(refused: readonly string[], answered: readonly string[] = []): RequestFilter {
  return (request, response, next) => {
    if (answered.includes(request.url)) {
      response.end('{}');
      return;
    }
    if (request.url !== reviews) return next();
    const chunks: Uint8Array[] = [];
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    request.on('end', () => {
      const { spec } = v.parse(reviewSchema, JSON.parse(Buffer.concat(chunks).toString('utf8')));
      const { resourceAttributes: asked, nonResourceAttributes } = spec;
      const what = asked === undefined ? nonResourceAttributes?.path : `${asked.verb} ${asked.resource}`;
      response.statusCode = 201;
      response.end(JSON.stringify({ status: { allowed: !refused.includes(what ?? '') } }));
    });
  };
}

async function examined(
  context: TestContext,
  refused: readonly string[],
  answered: readonly string[] = [],
): Promise<readonly Finding[]> {
  const { path, examine } = await installation(context, {
    server: () => ({ filter: refusing(refused, answered) }),
  });
  const { findings } = await examine(['--sync-kubeconfig', path('sync.kubeconfig')]);
  return findings.filter((finding) => finding.check === check);
}

describe('doctor, about the rights of the sync job', () => {
  it('sees that it may do what it asks for', async (context) => {
    assert.deepEqual(await examined(context, []), [
      { check, result: 'ok', message: 'cp-a gives "sync-job" every right it needs' },
    ]);
  });

  it('names each right that is missing, and the commands that give it', async (context) => {
    const [first, second, ...others] = await examined(context, ['/apis/*', 'watch apiservices']);
    assert.equal(first?.result, 'failed');
    assert.equal(first.message, 'at cp-a, "sync-job" may not get /apis/*');
    assert.equal(
      first.commands?.[0],
      "kubectl create clusterrole mixed-version-proxy-sync-paths --verb=get '--non-resource-url=/apis/*'",
    );
    assert.equal(second?.message, 'at cp-a, "sync-job" may not watch apiservices.apiregistration.k8s.io');
    assert.match(second.commands?.[0] ?? '', / --verb=watch /);
    assert.deepEqual(others, []);
  });

  it('warns of what only leader election needs, and is silent about storage versions that are not served', async (context) => {
    const findings = await examined(context, [
      'create leases',
      'list storageversions',
      'watch storageversions',
    ]);
    assert.deepEqual(
      findings.map(({ result, message }) => [result, message]),
      [
        [
          'warning',
          'at cp-a, "sync-job" may not create leases.coordination.k8s.io in kube-system (needed with --leader-elect)',
        ],
      ],
    );
  });

  it('asks for no right to elect a leader where a router reads for itself alone', async (context) => {
    const { apiServer, path } = await installation(context, {
      server: () => ({ filter: refusing(['create leases']) }),
    });
    const access = await loadClusterAccess({ kubeconfig: path('sync.kubeconfig') });
    const server = { id: 'cp-a', origin: apiServer.url, serverName: undefined };
    const results = async (reader: ClusterReader) =>
      (await syncRightsFindings([server], await access.credentials(), reader)).map(
        ({ check, result }) => `${check}: ${result}`,
      );
    assert.deepEqual(await results('this router'), ['rights of this router: ok']);
    assert.deepEqual(await results('the sync job'), ['rights of the sync job: warning']);
  });

  it('warns of storage versions where their API is on', async (context) => {
    const findings = await examined(
      context,
      ['list storageversions', 'watch storageversions'],
      ['/apis/internal.apiserver.k8s.io/v1alpha1'],
    );
    assert.deepEqual(
      findings.map(({ result, message }) => [result, message]),
      [
        [
          'warning',
          'at cp-a, "sync-job" may not list and watch storageversions.internal.apiserver.k8s.io (needed as long as the StorageVersion API is on)',
        ],
      ],
    );
  });

  it('looks at them alone where nothing describes a router, and prints commands on lines of their own', async (context) => {
    const { apiServer, path, doctor } = await installation(context, {
      server: () => ({ filter: refusing(['list leases']) }),
    });
    const { code, output } = await doctor(['--sync-kubeconfig', path('sync.kubeconfig')]);
    assert.equal(code, 2);
    const [finding, role, binding, counts, ...rest] = output.trimEnd().split('\n');
    const server = new URL(apiServer.url).host;
    assert.equal(
      finding,
      `[failed]  rights of the sync job: at ${server}, "sync-job" may not list leases.coordination.k8s.io in kube-system`,
    );
    assert.match(
      role ?? '',
      /^ +kubectl create role mixed-version-proxy-sync-leases -n kube-system --verb=list /,
    );
    assert.match(binding ?? '', /^ +kubectl create rolebinding .* --user=sync-job$/);
    assert.equal(counts, '1 failed, 0 warnings, 0 ok');
    assert.deepEqual(rest, []);
  });

  it('asks for nothing but reviews and discovery, with the credentials of the sync job', async (context) => {
    const requests: RequestRecord[] = [];
    const { path, doctor } = await installation(context, {
      server: () => ({ onRequest: (request) => requests.push(request) }),
    });
    assert.equal((await doctor(['--sync-kubeconfig', path('sync.kubeconfig')])).code, 0);
    assert.ok(requests.length > 10);
    for (const { method, url, user } of requests) {
      assert.equal(user?.name, 'sync-job');
      assert.ok(method === 'GET' || url.endsWith('reviews'), `${method} ${url}`);
    }
  });

  it('says what is wrong with the kubeconfig, and with credentials that are refused', async (context) => {
    const { path, examine, apiServer } = await installation(context);
    const missing = await examine(['--sync-kubeconfig', path('none')]);
    assert.equal(missing.code, 2);
    assert.match(findingsOf(missing.findings, check), /^failed: --sync-kubeconfig: .*none cannot be used/);
    const stranger = await installation(context, {
      changes: {
        'sync.kubeconfig': `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "${apiServer.url}", certificate-authority: ${path('ca.crt')} } }]
users: [{ name: u, user: { token: unknown } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`,
      },
    });
    const refused = await stranger.doctor(['--sync-kubeconfig', stranger.path('sync.kubeconfig')]);
    assert.equal(refused.code, 2);
    assert.match(refused.output, /does not know the sync job \(401\)/);
  });
});
