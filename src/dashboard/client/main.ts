import { explainWithoutReload } from './explain-form.ts';
import { keepUpToDate } from './live.ts';
import { tellTimes } from './times.ts';

tellTimes();
keepUpToDate();
explainWithoutReload();
