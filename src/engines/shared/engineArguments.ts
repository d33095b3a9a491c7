import { resolve } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { DeviceGroup } from '../../runs/deviceQueue.ts';

export type EngineArguments =
	| {
			readonly kind: 'run';
			/** The run directory. */
			readonly run: string;
			/** Whether to resume an earlier attempt in the same run directory. */
			readonly resume: boolean;
			/** Checkpoint folder from another run, used to start a new run. */
			readonly parentCheckpoint: string | null;
			/** Runs that may use the device at the same time as this one. */
			readonly deviceGroup?: DeviceGroup;
	  }
	| {
			readonly kind: 'serve';
			readonly checkpoint: string;
			/** Whether to exit when standard input closes, which also happens when the parent process exits. */
			readonly untilInputEnds: boolean;
	  };

export const engineUsage =
	'Usage: engine --run <run folder> [--resume | --parent-checkpoint <checkpoint folder>] [--device-group <id>:<slots>], or engine --serve <checkpoint folder> [--until-input-ends].';

/** Parses the engine's command-line arguments, excluding the node and script paths. Throws `invalid`. */
export function parseEngineArguments(argv: readonly string[], cwd: string): EngineArguments {
	const values = new Map<string, string>();
	let resume = false;
	let untilInputEnds = false;
	let deviceGroup: DeviceGroup | null = null;
	for (let i = 0; i < argv.length; i++) {
		const name = argv[i] as string;
		if (name === '--resume') {
			resume = true;
			continue;
		}
		if (name === '--until-input-ends') {
			untilInputEnds = true;
			continue;
		}
		if (name === '--device-group') {
			deviceGroup = parseGroup(argv[++i]);
			continue;
		}
		if (name !== '--run' && name !== '--serve' && name !== '--parent-checkpoint') {
			throw new Failure('invalid', `Unknown engine argument: ${JSON.stringify(name)}.`, engineUsage);
		}
		const value = argv[++i];
		if (value === undefined || value === '') throw new Failure('invalid', `${name} requires a folder.`, engineUsage);
		if (values.has(name)) throw new Failure('invalid', `${name} was specified more than once.`, engineUsage);
		values.set(name, resolve(cwd, value));
	}
	const run = values.get('--run');
	const checkpoint = values.get('--serve');
	const parentCheckpoint = values.get('--parent-checkpoint') ?? null;
	if ((run === undefined) === (checkpoint === undefined)) {
		throw new Failure('invalid', 'The engine requires --run or --serve.', engineUsage);
	}
	if (checkpoint !== undefined) {
		if (resume || parentCheckpoint || deviceGroup)
			throw new Failure('invalid', '--serve cannot be combined with other arguments.', engineUsage);
		return { kind: 'serve', checkpoint, untilInputEnds };
	}
	if (untilInputEnds) {
		throw new Failure(
			'invalid',
			'--until-input-ends requires --serve, because a run outlives the process that started it.',
			engineUsage,
		);
	}
	if (resume && parentCheckpoint) {
		throw new Failure('invalid', '--resume and --parent-checkpoint cannot be combined.', engineUsage);
	}
	return { kind: 'run', run: run as string, resume, parentCheckpoint, ...(deviceGroup && { deviceGroup }) };
}

function parseGroup(text = ''): DeviceGroup {
	const [, id, slots] = /^([\w-]+):([1-9]\d?)$/.exec(text) ?? [];
	if (id !== undefined) return { id, slots: Number(slots) };
	throw new Failure('invalid', '--device-group requires a group and a number from 1 to 99, such as ID:2.', engineUsage);
}
