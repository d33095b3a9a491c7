import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import {
	type EnvironmentTarget,
	environmentModule,
	environmentTargets,
	packageOf,
} from '../core/episode/export/environmentExport.ts';
import { type EnvironmentExport, exportEnvironment } from '../core/episode/export/exportEnvironment.ts';
import type { EnvironmentData } from '../episodes/environmentData.ts';
import type { EnvironmentRunner } from '../episodes/environmentRunner.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { environmentOptions, withEnvironment } from './environmentArguments.ts';
import { choice } from './options.ts';
import { defineVerb } from './verb.ts';

const targets = [...environmentTargets, 'rows'] as const;
const { dataset, rows, timeout, arguments: given, python } = environmentOptions;

/** Number of rows sampled to determine the columns. */
const sampledRows = 1000;

export const exportEnvironmentVerb = defineVerb({
	name: 'export-environment',
	group: 'Environments',
	arguments: [
		{ name: 'environment', phrase: 'an environment file, folder, package, or server address', type: 'path' },
		{ name: 'out', phrase: 'a new folder, or a JSONL file for rows', type: 'path' },
	],
	summary:
		'Export an environment file as a TRL script, a verifiers package, or an OpenEnv server, and list differences in behavior; or export the rows of a package or server.',
	options: {
		to: choice(targets, 'TARGET', 'Export format. Required.'),
		dataset,
		rows: { ...rows, meaning: 'Number of rows to write with --to rows (default: 1000).' },
		timeout,
		arguments: given,
		python,
	},
	async run({ values, positionals, output }) {
		const { to, ...rest } = values;
		if (to === undefined) throw new Failure('invalid', '--to is required.', `Choose one of ${targets.join(', ')}.`);
		const [written = '', place = ''] = positionals;
		const out = resolve(place);
		const asked = to === 'rows' ? (rest.rows ?? sampledRows) : sampledRows;
		return await withEnvironment(written, { ...rest, rows: asked }, output, async ({ runner, data }) => {
			if (to === 'rows') return await writeRows(runner, asked, out, output);
			const { environment, exported } = await exportOf(to, runner, data);
			await writeExport(out, exported, runner, data);
			output.object({ folder: out, target: to, usage: exported.usage, findings: exported.findings });
			for (const { level, message, action } of exported.findings) {
				output.line(printable(`${environment}: ${level}: ${message}${action === undefined ? '' : ` ${action}`}`));
			}
			output.line(printable(`Created ${out}. To use it, run in this folder: ${exported.usage}`));
			return exported.findings.some(({ level }) => level === 'error') ? 1 : 0;
		});
	},
});

async function exportOf(target: EnvironmentTarget, runner: EnvironmentRunner, data: EnvironmentData) {
	if (!runner.file.endsWith('.env.py')) {
		const action = 'Exports require Python: use a *.env.py file.';
		throw new Failure('unsupported', `${basename(runner.file)} cannot be exported.`, action);
	}
	const environment = await runner.describe();
	// The class name at run time can differ from the one in the file.
	if (!/^[A-Za-z_]\w*$/.test(environment.name)) {
		throw new Failure('unsupported', `The class name ${environment.name} cannot be exported.`, 'Rename the class.');
	}
	const columns = data.described === null ? null : Object.keys(data.rows[0]?.columns ?? {});
	const source = basename(runner.file);
	const stem = packageOf(runner.file);
	return { environment: environment.name, exported: exportEnvironment(target, { environment, stem, source, columns }) };
}

async function writeExport(
	out: string,
	{ files, places }: EnvironmentExport,
	{ file, files: loaded }: EnvironmentRunner,
	data: EnvironmentData,
): Promise<void> {
	await requireNew(out);
	const copies = new Map<string, string>();
	const folder = dirname(file);
	for (const one of new Set([file, ...loaded])) {
		const name =
			one === file ? `${environmentModule(packageOf(file))}.py` : relative(folder, one).replaceAll('\\', '/');
		if (name.startsWith('../')) continue;
		const path = places.code + name;
		if (files.has(path) || copies.has(path)) {
			const action = 'Rename the file that the environment imports.';
			throw new Failure('invalid', `Both the environment and the export have a file named ${name}.`, action);
		}
		copies.set(path, one);
	}
	const put = async (path: string) => {
		await mkdir(dirname(join(out, path)), { recursive: true });
		return join(out, path);
	};
	for (const [path, text] of files) await writeFile(await put(path), text);
	for (const [path, one] of copies) await copyFile(one, await put(path));
	const [rowsFile] = data.files;
	if (data.described !== null && rowsFile !== undefined) await copyFile(rowsFile, await put(places.rows));
}

async function writeRows(runner: EnvironmentRunner, count: number, out: string, output: CliOutput): Promise<number> {
	const found = await runner.rows(count);
	if (found.length === 0) {
		const action = 'Use its dataset, or export the rows of a package or server.';
		throw new Failure('invalid', `${basename(runner.file)} does not provide rows.`, action);
	}
	await writeFile(out, found.map((row) => `${JSON.stringify(row)}\n`).join(''), { flag: 'wx' }).catch(
		(error: unknown) => {
			throw Failure.from(error, `Cannot write ${out}`);
		},
	);
	output.object({ file: out, rows: found.length });
	output.line(printable(`${out}: ${formatCounted(found.length, 'row')}`));
	return 0;
}

async function requireNew(folder: string): Promise<void> {
	const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
		if (error.code === 'ENOENT') return [];
		throw Failure.from(error, `Cannot write ${folder}`);
	});
	if (entries.length > 0) throw new Failure('exists', `${folder} is not empty.`, 'Choose a new folder.');
}
