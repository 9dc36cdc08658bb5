import { keepUpToDate } from './live.ts';
import { tellTimes } from './times.ts';

tellTimes();
keepUpToDate();
