import { describePrograms } from './checkPrograms.ts';

/** More shapes: `npm run acceptance -- gpu`. */
describePrograms([1]);
