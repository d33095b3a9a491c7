import { runFormat } from '../../protocol/runRecord.ts';

/** Versions of this side that affect the numbers of a run; the trainer reports its own. */
export function driverVersions(): Record<string, string> {
	return {
		node: process.versions.node,
		run: String(runFormat),
		platform: `${process.platform}-${process.arch}`,
	};
}
