import { workerd } from './runtimes/workerd.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(workerd);
