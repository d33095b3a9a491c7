import { parentPort, workerData } from 'node:worker_threads';
import { type InspectedFile, inspectLines } from './inspectLines.ts';

/* Inspects one file in a thread, which has limited memory and does not block the caller. */

try {
	const inspection = await inspectLines(workerData as InspectedFile);
	parentPort?.postMessage({ inspection });
} catch (error) {
	parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
