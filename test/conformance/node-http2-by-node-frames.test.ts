import { nodeHttp2ByNodeFrames } from './runtimes/node.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(nodeHttp2ByNodeFrames);
