import { Failure } from '../../base/failure.ts';
import type { CheckRow, PythonProbe } from '../../protocol/torchEnvironment.ts';
import { whyUnusable } from '../pythons/judgePython.ts';
import { trlImport } from '../pythons/probePython.ts';
import { pythonVariable, type TorchPythonSource } from '../torchPython.ts';
import { type DoctorFacts, row, setUp } from './doctorFacts.ts';
import { judgeVersion } from './versionRange.ts';

const sources: Readonly<Record<Exclude<TorchPythonSource, 'setting'>, string>> = {
	variable: `set by ${pythonVariable}`,
	managed: 'created by Set Up PyTorch Engine',
	selected: 'selected in the Python extension',
};

/** Checks which Python interpreter is used, and whether the interpreter and its environment work. */
export function pythonRows({ chosen, namedBy, probe, state }: DoctorFacts): CheckRow[] {
	if (chosen instanceof Failure) {
		return [row('python', 'Python', 'error', chosen.message, chosen.action ?? setUp)];
	}
	const named = `${chosen.python}, ${chosen.source === 'setting' ? `set by ${namedBy}` : sources[chosen.source]}`;
	if (probe === null || probe instanceof Failure) {
		const action = chosen.source === 'managed' ? setUp : 'Choose another Python interpreter, or set one up.';
		return [row('python', 'Python', 'error', `${named}: ${probe?.message ?? 'unknown'}`, probe?.action ?? action)];
	}
	const why = whyUnusable(probe);
	const python =
		why === null
			? row('python', 'Python', 'ok', `${probe.python} (${named})`)
			: row('python', 'Python', 'error', `${probe.python} (${named}): ${why}`, 'Choose another Python interpreter.');
	return [python, environmentRow(chosen.source, probe, state)];
}

function environmentRow(source: TorchPythonSource, probe: PythonProbe, state: DoctorFacts['state']): CheckRow {
	const broken = Object.entries(probe.broken).map(([name, error]) => `${name} (${error})`);
	if (broken.length > 0) {
		return row('venv', 'Environment', 'error', `The metadata of ${broken.join(', ')} cannot be read.`, setUp);
	}
	if (source === 'managed' && state.kind === 'ready') {
		const { record, outdated } = state;
		const made = `created ${new Date(record.made * 1000).toISOString().slice(0, 10)} by version ${record.version}`;
		if (outdated.length === 0) return row('venv', 'Environment', 'ok', `${probe.prefix}, ${made}`);
		return row(
			'venv',
			'Environment',
			'warning',
			`${made}; changed since then: ${outdated.join(', ')}`,
			`${setUp} This updates the environment.`,
		);
	}
	if (probe.virtual) return row('venv', 'Environment', 'ok', probe.prefix);
	return row(
		...([
			'venv',
			'Environment',
			'warning',
			`${probe.prefix} is not a virtual environment; its packages are shared.`,
		] as const),
		'A separate environment is not affected by packages installed for other programs.',
	);
}

/** Packages required by every run. */
const needed = ['trl', 'transformers', 'datasets', 'accelerate', 'peft'] as const;

/** Compares installed trainer packages with the supported versions. */
export function packageRows({ probe, ranges, chosen }: DoctorFacts): CheckRow[] {
	if (probe === null || probe instanceof Failure) return [];
	const managed = !(chosen instanceof Failure) && chosen.source === 'managed';
	const install = managed ? setUp : 'Install it in this environment, or run Set Up PyTorch Engine.';
	return ['torch' as const, ...needed].map((name) => {
		const version = probe.packages[name] ?? null;
		const range = ranges.find((candidate) => candidate.name === name);
		const title = name === 'trl' ? 'TRL' : name;
		if (version === null) return row(name, title, 'error', 'not installed', install);
		const outcome = probe.imports[name === 'trl' ? trlImport : name];
		if (outcome !== undefined && !outcome.ok) {
			return row(name, title, 'error', `${version}, but import failed: ${outcome.error ?? 'no message'}`, install);
		}
		const wanted = range?.text.replaceAll(',', ', ') ?? '';
		switch (range === undefined ? 'inside' : judgeVersion(version, range)) {
			case 'older':
				return row(name, title, 'error', `${version}; the trainer requires ${wanted}`, install);
			case 'newer':
				return row(name, title, 'warning', `${version}; the trainer was built for ${wanted}`, install);
			default:
				return row(name, title, 'ok', version);
		}
	});
}
