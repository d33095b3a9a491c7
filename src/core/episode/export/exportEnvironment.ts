import {
	type EnvironmentTarget,
	type ExportedEnvironment,
	type ExportedFiles,
	type ExportFinding,
	exportPlaces,
} from './environmentExport.ts';
import { exportFindings } from './exportFindings.ts';
import { openenvExport } from './openenvExport.ts';
import { trlExport } from './trlExport.ts';
import { verifiersExport } from './verifiersExport.ts';

export interface EnvironmentExport {
	/** Generated files. The environment's own files and its rows are copied next to them. */
	readonly files: ExportedFiles;
	readonly places: ReturnType<typeof exportPlaces>;
	readonly findings: readonly ExportFinding[];
	/** Command for using the export, to run in the export's folder. */
	readonly usage: string;
}

const generators: Readonly<Record<EnvironmentTarget, (exported: ExportedEnvironment) => ExportedFiles>> = {
	trl: trlExport,
	verifiers: verifiersExport,
	openenv: openenvExport,
};

/** Exports an environment for another library. */
export function exportEnvironment(target: EnvironmentTarget, exported: ExportedEnvironment): EnvironmentExport {
	const { stem } = exported;
	const usage = {
		trl: 'python train.py Qwen/Qwen3-0.6B',
		verifiers: `pip install -e . && vf-eval ${stem.replaceAll('_', '-')}`,
		openenv: 'uvicorn server.app:app --port 8000',
	}[target];
	return {
		files: generators[target](exported),
		places: exportPlaces(target, stem),
		findings: exportFindings(target, exported),
		usage,
	};
}
