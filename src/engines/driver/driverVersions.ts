import { runFormat } from '../../protocol/runRecord.ts';

/** What a run's numbers depend on of this side; the trainer tells its own. */
export function driverVersions(): Record<string, string> {
	return {
		node: process.versions.node,
		run: String(runFormat),
		platform: `${process.platform}-${process.arch}`,
	};
}
