import { parentPort, workerData } from 'node:worker_threads';
import { type InspectedFile, inspectLines } from './inspectLines.ts';

/* Inspects one file in a worker thread, with limited memory and without blocking the caller. */

try {
	const inspection = await inspectLines(workerData as InspectedFile);
	parentPort?.postMessage({ inspection });
} catch (error) {
	parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
