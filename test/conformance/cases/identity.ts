import assert from 'node:assert/strict';
import { allHeaders, headerLines, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, World } from '../conformance-case.ts';
import { bearerTokenOf, wrongTokens } from '../oidc-tokens.ts';
import type { Peer, PeerRequest } from '../peers.ts';
import { assertStatus } from '../status-answer.ts';
import { identityLines, peerAssertionOf, toldIdentity } from '../told-identity.ts';

/** Everything by which a client could claim to be someone, in spellings that some server reads alike. */
const forged: RawHeaders = [
  ...['X-Remote-User', 'root', 'X-REMOTE-USER', 'root', 'X_Remote_User', 'root', 'x-remote_user', 'root'],
  ...['X-Remote-Group', 'system:masters', 'x_remote_group', 'system:masters'],
  ...['X-Remote-Uid', 'root', 'X_Remote_Uid', 'root'],
  ...['X-Remote-Extra-Scopes', 'root', 'x_remote_extra_scopes', 'root'],
  ...['X-Kubernetes-Peer-Proxied', 'true', 'X_Kubernetes_Peer_Proxied', 'true'],
];

const jane = user('jane@example.com', {
  uid: '4f8e',
  groups: ['a, b', 'c', 'c', 'd,e'],
  extra: new Map([['example.org/floor 3', ['one', 'two, three']]]),
});

/** As far as a token carries her. */
const janeInGroups = user(jane.name, { groups: jane.groups });

const janeAsTold = {
  user: 'jane@example.com',
  uid: '4f8e',
  groups: ['a, b', 'c', 'c', 'd,e', 'system:authenticated'],
  extra: { 'example.org/floor 3': ['one', 'two, three'] },
};

export const identity: CaseGroup = {
  title: 'Identity',
  cases: [
    {
      id: 'identity/told-exactly',
      needs: ['assertions'],
      rule: 'The local server and a peer are told exactly who calls: name, UID, every group, also those that hold commas, extra keys and values',
      citation: 'k8s.io/client-go transport/round_trippers.go; KEP-4020',
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask({ target }, jane);
          const told = await toldIdentity(peer, peer.only());
          assert.ok(told !== undefined);
          const { by: _by, ...who } = told;
          assert.deepEqual(who, janeAsTold);
        }
      },
    },
    {
      id: 'identity/one-line-per-group',
      rule: 'Groups travel as one `X-Remote-Group` line each, under the front-proxy certificate',
      citation: 'k8s.io/apiserver pkg/authentication/request/headerrequest/requestheader.go',
      needs: ['frontProxyIdentity'],
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask({ target }, janeInGroups);
          assert.deepEqual(allHeaders(peer.only().headers, 'x-remote-group'), janeAsTold.groups);
        }
      },
    },
    {
      id: 'identity/extra-keys',
      rule: 'Extra keys travel percent-encoded, each value in a line of its own',
      citation: 'k8s.io/client-go transport/round_trippers.go',
      needs: ['assertions'],
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask({ target }, jane);
          const { headers } = peer.only();
          const lines = [...headerLines(headers)].map(([name, value]) => [name.toLowerCase(), value]);
          const extra = lines.filter(([name]) => name?.startsWith('x-remote-extra-'));
          assert.deepEqual(extra, [
            ['x-remote-extra-example.org%2ffloor%203', 'one'],
            ['x-remote-extra-example.org%2ffloor%203', 'two, three'],
          ]);
        }
      },
    },
    {
      id: 'identity/utf-8',
      rule: 'Names and groups beyond ASCII arrive as the UTF-8 bytes they are',
      citation: 'RFC 9110 section 5.5; k8s.io/apiserver reads header values as bytes',
      async run(world) {
        const { peer3 } = world.cluster;
        await world.ask({ target: targets.peer3 }, user('jürgen', { groups: ['Ärzte, Köln'] }));
        const told = await toldIdentity(peer3, peer3.only());
        assert.ok(told !== undefined);
        const text = (value: string): string =>
          told.by === 'assertion' ? value : Buffer.from(value, 'latin1').toString('utf8');
        assert.equal(text(told.user), 'jürgen');
        assert.deepEqual(told.groups.map(text), ['Ärzte, Köln', 'system:authenticated']);
      },
    },
    {
      id: 'identity/forged-headers',
      rule: 'Identity headers and reroute marks that a client sends, in any case and with underscores, never arrive',
      citation: 'CVE-2025-64484; RFC 9110 section 7.6.1',
      async run(world) {
        for (const who of [janeInGroups, undefined]) {
          for (const [target, peer] of ways(world)) {
            world.cluster.reset();
            // Only a verified peer may mark a request: whoever vouches for jane here has not.
            await world.ask({ target, headers: who === undefined ? forged : forged.slice(0, -4) }, who);
            const request = peer.only();
            assertNothingForged(request);
            const told = await toldIdentity(peer, request);
            assert.equal(told?.user, who?.name);
            assert.deepEqual(allHeaders(request.headers, 'x-kubernetes-peer-proxied'), markFor(world, peer));
          }
        }
      },
    },
    {
      id: 'identity/forged-assertion-is-removed',
      rule: 'No signed assertion of a client travels on: a server gets the router’s own, or none',
      citation: 'docs/guides/edge.md',
      async run(world) {
        for (const [target, peer] of ways(world)) {
          const exchange = await world.send({ target }, janeInGroups);
          await exchange.answer;
          const assertion = peerAssertionOf(peer.only().headers);
          const told = await toldIdentity(peer, peer.only());
          assert.equal(told?.user, jane.name);
          assert.equal(assertion === undefined, told.by === 'front-proxy');
        }
      },
    },
    {
      id: 'identity/passthrough',
      rule: 'Credentials that cannot be verified pass through untouched, without any word of the router about the caller',
      citation: 'decisions/0002-what-is-not-verified-is-not-asserted.md',
      async run(world) {
        const headers = ['Authorization', 'Bearer opaque-token-of-a-service-account'];
        for (const [target, peer] of ways(world)) {
          await world.ask({ target, headers });
          const request = peer.only();
          assert.deepEqual(allHeaders(request.headers, 'authorization'), [headers[1]]);
          assert.equal(await toldIdentity(peer, request), undefined);
        }
      },
    },
    {
      id: 'identity/credentials-stay-here',
      needs: ['assertions'],
      rule: 'Credentials of a caller whom the router has established do not travel: its word replaces them',
      citation: 'kubernetes/kubernetes#81146',
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask({ target, headers: ['Authorization', 'Bearer opaque'] }, jane);
          assert.deepEqual(allHeaders(peer.only().headers, 'authorization'), []);
        }
      },
    },
    {
      id: 'identity/client-certificate',
      rule: 'A verified client certificate tells who calls: CN the user, each O a group',
      citation: 'k8s.io/apiserver pkg/authentication/request/x509/x509.go',
      needs: ['clientCertificates'],
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask({ target, certificate: 'alice', headers: forged.slice(0, -4) });
          const told = await toldIdentity(peer, peer.only());
          assert.equal(told?.user, 'alice');
          assert.deepEqual(told.groups, ['dev', 'system:authenticated']);
        }
      },
    },
    {
      id: 'identity/jwt',
      rule: 'A token of a configured issuer tells who calls, and a wrong one of that issuer is a 401',
      citation: 'docs/guides/edge.md',
      needs: ['jwt'],
      async run(world) {
        for (const [target, peer] of ways(world)) {
          const good = await bearerTokenOf('jane', ['a, b', 'c']);
          const answer = await world.ask({ target, headers: ['Authorization', `Bearer ${good}`] });
          assert.equal(answer.status, 200, answer.body);
          const told = await toldIdentity(peer, peer.only());
          assert.equal(told?.user, 'jane');
          assert.deepEqual(told.groups, ['a, b', 'c', 'system:authenticated']);
          assert.deepEqual(allHeaders(peer.only().headers, 'authorization'), []);
        }
        world.cluster.reset();
        for (const [what, token] of Object.entries(await wrongTokens())) {
          const answer = await world.ask({
            target: targets.peer3,
            headers: ['Authorization', `Bearer ${token}`],
          });
          const { message } = assertStatus(answer, 401, 'Unauthorized');
          world.agree(`401 for a token: ${what}`, message);
        }
        assert.deepEqual(world.cluster.peer3.requests, []);
      },
    },
    {
      id: 'identity/impersonation',
      rule: 'Impersonation headers pass: whether the caller may is for the API server to say',
      citation: 'kubernetes.io: User impersonation',
      async run(world) {
        for (const [target, peer] of ways(world)) {
          await world.ask(
            { target, headers: ['Impersonate-User', 'bob', 'Impersonate-Uid', '7'] },
            janeInGroups,
          );
          assert.deepEqual(allHeaders(peer.only().headers, 'impersonate-user'), ['bob']);
          assert.deepEqual(allHeaders(peer.only().headers, 'impersonate-uid'), ['7']);
        }
      },
    },
    {
      id: 'identity/no-joined-groups',
      rule: 'Two `Impersonate-Group` lines never arrive as one: they arrive as two, or the request is refused',
      citation: 'k8s.io/apiserver pkg/endpoints/filters/impersonation.go',
      async run(world) {
        const groups = ['Impersonate-Group', 'dev', 'Impersonate-Group', 'ops'];
        for (const [target, peer] of ways(world)) {
          const answer = await world.ask(
            { target, headers: ['Impersonate-User', 'bob', ...groups] },
            janeInGroups,
          );
          const [request] = peer.requests;
          if (request === undefined) assertStatus(answer, 400, 'BadRequest');
          else assert.deepEqual(allHeaders(request.headers, 'impersonate-group'), ['dev', 'ops']);
        }
      },
    },
    {
      id: 'identity/impersonated-groups',
      rule: 'Several `Impersonate-Group` lines arrive as they came, also one with a comma in it',
      citation: 'k8s.io/apiserver pkg/endpoints/filters/impersonation.go',
      needs: ['repeatedHeaders'],
      async run(world) {
        const groups = ['Impersonate-Group', 'dev', 'Impersonate-Group', 'a, b'];
        for (const [target, peer] of ways(world)) {
          await world.ask({ target, headers: ['Impersonate-User', 'bob', ...groups] }, janeInGroups);
          assert.deepEqual(allHeaders(peer.only().headers, 'impersonate-group'), ['dev', 'a, b']);
        }
      },
    },
  ],
};

/** Both kinds of way out. */
function ways({ cluster }: World): readonly (readonly [string, Peer])[] {
  return [
    [targets.local, cluster.local],
    [targets.peer3, cluster.peer3],
  ];
}

function markFor({ cluster }: World, peer: Peer): string[] {
  return peer === cluster.local ? [] : ['true'];
}

function assertNothingForged({ headers }: PeerRequest): void {
  assert.ok(!headers.some((line) => /root|masters/.test(line)), headers.join());
  const marks = [...headerLines(headers)].filter(([name]) => /^x.kubernetes.peer.proxied$/i.test(name));
  assert.ok(marks.length <= 1 && marks.every(([name]) => !name.includes('_')), marks.join());
  assert.ok(identityLines(headers).every((line, index) => index % 2 === 1 || !line.includes('_')));
}
