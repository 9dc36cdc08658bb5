import { meetEveryFault } from './laboratory/every-fault.ts';

// The same of local servers and behind a gateway: server-faults.slow.test.ts.
meetEveryFault((place) => place === 'peer');
