export { eventually, pauseAfter } from '../../packages/http2/test/eventually.ts';
