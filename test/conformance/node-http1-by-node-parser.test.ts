import { nodeHttp1ByNodeParser } from './runtimes/node.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(nodeHttp1ByNodeParser);
