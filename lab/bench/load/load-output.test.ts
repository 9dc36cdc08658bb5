import assert from 'node:assert/strict';
import { test } from 'node:test';
import { h2loadArguments, parseH2load } from './h2load.ts';
import type { Load } from './load.ts';
import { parsePaced, phaseOf } from './paced.ts';
import { parseWrk, wrkArguments } from './wrk.ts';

const h2loadOutput = `starting benchmark...
spawning thread #0: 8 total client(s). Timing-based test with 1s of warm-up time and 2s of main duration for measurements.
Warm-up phase is over for thread #0.
Main benchmark duration is started for thread #0.
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

finished in 3.00s, 31509.00 req/s, 31.43MB/s
requests: 63018 total, 63018 started, 63018 done, 63018 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 63031 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 62.86MB (65917365) total, 395.52KB (405015) headers (space savings 95.50%), 98.67MB (103467008) data
                     min         max         mean         sd        +/- sd
time for request:      108us     16.66ms      1.79ms      1.29ms    85.26%
time for connect:        0us         0us         0us         0us     0.00%
time to 1st byte:        0us         0us         0us         0us     0.00%
req/s           :    3793.33     4030.71     3937.83       88.18    50.00%`;

const wrkOutput = `Running 2s test @ https://127.0.0.1:45801/x/namespaces/y
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.47ms    1.91ms  11.54ms   77.97%
    Req/Sec     2.21k   385.53     3.01k    60.00%
  4422 requests in 2.02s, 4.86MB read
Requests/sec:   2190.54
Transfer/sec:      2.41MB`;

const load: Load = {
  protocol: 'http1',
  url: 'https://127.0.0.1:6443/',
  connections: 16,
  streams: 1,
  warmUp: 0.5,
  seconds: 1.5,
};

test('h2load: requests and their rate are those after the warm-up', () => {
  assert.deepEqual(parseH2load(h2loadOutput, { seconds: 2, responseBytes: undefined }), {
    requests: 63018,
    requestsPerSecond: 31509,
    failed: 0,
  });
});

test('h2load: of answers that are large, parts of one count', () => {
  const { requests } = parseH2load(h2loadOutput, { seconds: 2, responseBytes: 65_917_365 * 2 });
  assert.equal(requests, 0.5);
});

test('h2load: an answer without a reason phrase is no failure', () => {
  const output = h2loadOutput.replace('63018 succeeded, 0 failed', '60000 succeeded, 3018 failed');
  const { requests, failed } = parseH2load(output, { seconds: 2, responseBytes: undefined });
  assert.deepEqual({ requests, failed }, { requests: 63018, failed: 0 });
});

test('h2load: redirects, errors of either side and connections that broke are failures', () => {
  const output = h2loadOutput
    .replace('0 errored, 0 timeout', '5 errored, 0 timeout')
    .replace('0 3xx, 0 4xx, 0 5xx', '1 3xx, 2 4xx, 4 5xx');
  assert.equal(parseH2load(output, { seconds: 2, responseBytes: undefined }).failed, 12);
});

test('h2load: other output is told, not taken for nothing measured', () => {
  assert.throws(
    () => parseH2load('UNABLE TO NEGOTIATE ALPN', { seconds: 2, responseBytes: undefined }),
    /did not say what it has measured/,
  );
});

test('h2load: one thread asks over connections that last, for the time that it is given', () => {
  const words = h2loadArguments(load);
  assert.ok(words.includes('--clients=16'));
  assert.ok(words.includes('--h1'));
  assert.ok(words.includes('--duration=1500ms'));
  assert.equal(words.at(-1), load.url);
});

test('paced: latencies are the medians of the windows, requests those answered in the measured time', () => {
  const windows = [
    { p50: 0.3, p99: 2 },
    { p50: 0.5, p99: 15 },
    { p50: 0.4, p99: 3 },
  ];
  const output = `{"phase":"begin"}\n{"phase":"end"}\n${JSON.stringify({ requests: 3_000, failed: 1, windows })}`;
  assert.deepEqual(parsePaced(output, { seconds: 2 }), {
    requests: 3_000,
    requestsPerSecond: 1_500,
    failed: 1,
    latency: { p50: 0.4, p99: 3 },
  });
});

test('paced: only the lines that say so are the beginning and the end of what is measured', () => {
  assert.equal(phaseOf('{"phase":"begin"}'), 'begin');
  assert.equal(phaseOf('{"phase":"end"}'), 'end');
  assert.equal(phaseOf('{"requests":1,"failed":0,"windows":[{"p50":1,"p99":1}]}'), undefined);
  assert.throws(() => phaseOf('{"phase":"over"}'));
});

test('paced: other output is told, not taken for nothing measured', () => {
  assert.throws(() => parsePaced('{"phase":"begin"}', { seconds: 2 }));
  assert.throws(() => parsePaced('', { seconds: 2 }));
});

test('wrk: requests and their rate', () => {
  assert.deepEqual(parseWrk(wrkOutput), { requests: 4422, requestsPerSecond: 2190.54, failed: 0 });
});

test('wrk: broken connections and refusals are failures', () => {
  const output = wrkOutput.replace(
    'Requests/sec',
    '  Socket errors: connect 1, read 20, write 0, timeout 300\n  Non-2xx or 3xx responses: 4000\nRequests/sec',
  );
  assert.equal(parseWrk(output).failed, 4321);
});

test('wrk: other output is told', () => {
  assert.throws(() => parseWrk('unable to connect'), /did not say what it has measured/);
});

test('wrk: asks for a new connection each time, for whole seconds', () => {
  const words = wrkArguments(load);
  assert.ok(words.includes('--header=Connection: close'));
  assert.ok(words.includes('--duration=2s'));
});
