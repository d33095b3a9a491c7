import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type SlurmOptions, slurmScript } from '../../../../src/core/scaling/slurmScript.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { temporaryFolder } from '../../runs/runFixtures.ts';

const options: SlurmOptions = {
	name: 'addition: two',
	run: "/scratch/it's mine/runs/addition-1",
	dist: '/opt/reasoning-lab/dist',
	node: 'node',
	minNode: '22.18.0',
	python: '/opt/env/bin/python',
	nodes: 2,
	gpusPerNode: 4,
	cpusPerNode: 32,
	time: '2-00:00:00',
	partition: 'gpu',
};

test('the script requests the given resources from Slurm and assigns each rank its place', () => {
	const text = slurmScript(options);
	for (const line of [
		'#SBATCH --job-name=addition-two',
		'#SBATCH --nodes=2',
		'#SBATCH --gpus-per-node=4',
		'#SBATCH --cpus-per-task=32',
		'#SBATCH --time=2-00:00:00',
		'#SBATCH --partition=gpu',
		'#SBATCH --requeue',
		'export OMP_NUM_THREADS=8',
		`RUN='/scratch/it'\\''s mine/runs/addition-1'`,
	]) {
		assert.ok(text.includes(`${line}\n`), line);
	}
	assert.match(text, /--nproc-per-node=4 /);
	assert.throws(() => slurmScript({ ...options, time: 'tomorrow' }), { reason: 'invalid' });
	assert.throws(() => slurmScript({ ...options, partition: 'gpu\n#SBATCH --exclusive' }), { reason: 'invalid' });
});

test('names and paths are plain text to Slurm and to the shell, whatever they contain', async () => {
	const texts = Object.values(hostileTexts)
		.map((text) => text.replaceAll('\0', '').slice(0, 4000).toWellFormed())
		.filter((text) => text !== '');
	const heads = texts.map((text) => {
		const script = slurmScript({ ...options, name: text, run: text, dist: text, node: text, python: text });
		assert.equal(script.match(/^#SBATCH/gm)?.length, slurmScript(options).match(/^#SBATCH/gm)?.length, text);
		// From here on, the script writes to the run folder.
		const head = script.slice(0, script.indexOf('\nexec >> "$RUN/engine.log"'));
		return `${head}\nprintf '%s\\0%s\\0%s\\0%s\\0' "$RUN" "$DIST" "$NODE" "$PYTHON"\n`;
	});
	const child = spawn('bash', ['-s'], { stdio: ['pipe', 'pipe', 'inherit'] });
	child.stdin.end(heads.join(''));
	const parts: Buffer[] = [];
	for await (const part of child.stdout) parts.push(part as Buffer);
	const heard = Buffer.concat(parts).toString().split('\0');
	assert.deepEqual(heard, [...texts.flatMap((text) => [text, text, text, text]), '']);
});

interface Stage {
	readonly folder: string;
	readonly run: string;
	script(more?: Partial<SlurmOptions>): Promise<string>;
}

/** Stubs for Slurm and the driver. The script itself is real. */
async function stage(context: TestContext, driver: string): Promise<Stage> {
	const folder = await temporaryFolder(context);
	const run = join(folder, "it's a run");
	const bin = join(folder, 'bin');
	for (const path of [run, bin]) await mkdir(path);
	const programs = {
		scontrol: 'echo first-node; echo second-node',
		srun: 'shift 2; exec "$@"',
		driver,
		python: `printf '%s\\n' "$REASONING_LAB_TRAINER_SOCKET $REASONING_LAB_TRAINER_TOKEN" "$MASTER_ADDR" "$@" > ${JSON.stringify(join(folder, 'ranks'))}; : > ${JSON.stringify(join(folder, 'begun'))}`,
	};
	// Node, whose version the script checks first, is replaced too.
	programs.driver = `[ "$1" = -p ] && { echo "\${NODE_VERSION:-24.1.0}"; exit; }\n${driver}`;
	for (const [name, text] of Object.entries(programs)) {
		await writeFile(join(bin, name), `#!/bin/bash\n${text}\n`);
		await chmod(join(bin, name), 0o755);
	}
	return {
		folder,
		run,
		script: async (more = {}) => {
			const path = join(folder, 'slurm.sh');
			const text = slurmScript({
				...options,
				run,
				node: join(bin, 'driver'),
				python: join(bin, 'python'),
				...more,
			});
			await writeFile(path, text);
			return path;
		},
	};
}

function runScript(folder: string, script: string, more: Record<string, string> = {}) {
	const child = spawn('bash', [script], {
		stdio: 'ignore',
		env: {
			PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
			SLURM_JOB_NODELIST: 'node[1-2]',
			SLURM_NNODES: '2',
			SLURM_NODEID: '0',
			...more,
		},
	});
	return { child, exit: new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code))) };
}

const announce = `printf '{"socket":"/run/a.sock","token":"secret"}\\n'`;

test("ranks join the driver, and the driver's exit status becomes the job's", {
	skip: process.platform === 'win32',
}, async (context) => {
	const { folder, run, script } = await stage(
		context,
		`${announce}; while [ ! -e ${'"$(dirname "$0")/../begun"'} ] && [ -e "$0" ]; do sleep 0.05; done; exit 3`,
	);
	assert.equal(await runScript(folder, await script()).exit, 3, await readFile(join(run, 'engine.log'), 'utf8'));
	const [socket, master, ...words] = (await readFile(join(folder, 'ranks'), 'utf8')).trim().split('\n');
	assert.equal(socket, '/run/a.sock secret');
	assert.equal(master, 'first-node');
	assert.deepEqual(words, [
		'-m',
		'torch.distributed.run',
		'--nnodes=2',
		'--node-rank=0',
		'--nproc-per-node=4',
		'--master-addr=first-node',
		'--master-port=29500',
		'-m',
		'reasoning_lab_trainer',
	]);
});

test('the signal before the time limit is sent to the driver, and the job waits for it', {
	skip: process.platform === 'win32',
}, async (context) => {
	const { folder, script } = await stage(
		context,
		`trap ': > "$(dirname "$0")/../stopped"; exit 0' TERM; ${announce}; while :; do sleep 0.05; done`,
	);
	const { child, exit } = runScript(folder, await script());
	while (!(await readFile(join(folder, 'begun')).catch(() => null))) {
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	child.kill('SIGTERM');
	assert.equal(await exit, 0);
	await readFile(join(folder, 'stopped'));
});

test("a driver that rejects the run ends the job with the driver's exit status", {
	skip: process.platform === 'win32',
}, async (context) => {
	const { folder, run, script } = await stage(context, 'echo "The recipe is at fault." >&2; exit 2');
	assert.equal(await runScript(folder, await script()).exit, 2);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /at fault/);
});

test('a machine with a missing or outdated Node is reported before anything starts', {
	skip: process.platform === 'win32',
}, async (context) => {
	const { folder, run, script } = await stage(context, 'exit 9');
	assert.equal(await runScript(folder, await script(), { NODE_VERSION: '20.20.2' }).exit, 2);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /is Node 20\.20\.2, but 22\.18 or newer is required/);
	assert.equal(await runScript(folder, await script({ node: 'no-such-node' })).exit, 2);
	assert.match(await readFile(join(run, 'engine.log'), 'utf8'), /no-such-node does not exist on /);
	// A newer version is accepted, so the driver runs.
	assert.equal(await runScript(folder, await script(), { NODE_VERSION: '23.0.0' }).exit, 9);
});
