import { meetEveryFault } from './laboratory/every-fault.ts';

meetEveryFault((place) => place !== 'peer');
