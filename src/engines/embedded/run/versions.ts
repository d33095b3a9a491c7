import { createRequire } from 'node:module';
import { runFormat } from '../../../protocol/runRecord.ts';

/** Returns the versions that affect a run's results, for run.json and checkpoints. */
export function engineVersions(): Record<string, string> {
	let onnxruntime = 'unknown';
	try {
		const require = createRequire(import.meta.url);
		const { version } = require('onnxruntime-node/package.json') as { version?: unknown };
		if (typeof version === 'string') onnxruntime = version;
	} catch {
		// The learner reports what is wrong with the installation.
	}
	return {
		node: process.versions.node,
		onnxruntime,
		run: String(runFormat),
		platform: `${process.platform}-${process.arch}`,
	};
}
