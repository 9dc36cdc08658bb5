import { nodeHttp2 } from './runtimes/node.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(nodeHttp2);
