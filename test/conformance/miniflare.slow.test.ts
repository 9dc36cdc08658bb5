import { miniflare } from './runtimes/miniflare.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(miniflare);
