import { runFormat } from '../../protocol/runRecord.ts';

/** Versions of driver components that affect the numbers in a run. The trainer reports its own versions. */
export function driverVersions(): Record<string, string> {
	return {
		node: process.versions.node,
		run: String(runFormat),
		platform: `${process.platform}-${process.arch}`,
	};
}
