import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../scripts/paths.ts';
import { skip } from '../support/softwareGpu.ts';

interface Placement {
	/** Number of nodes on the WebGPU provider. */
	webgpu: number;
	/** Nodes on the CPU provider. */
	readonly cpu: { readonly operator: string; readonly name: string }[];
}

/** Returns where the nodes of each program are computed, according to the runtime's log. */
function placements(log: string): Map<string, Placement> {
	const programs = new Map<string, Placement>();
	let placement: Placement = { webgpu: 0, cpu: [] };
	let provider = '';
	for (const line of log.split('\n')) {
		const program = /^program: (.*)$/.exec(line)?.[1];
		if (program !== undefined) {
			placement = { webgpu: 0, cpu: [] };
			programs.set(program, placement);
		}
		const placed = /placed on \[(\w+)ExecutionProvider\]\. Number of nodes: (\d+)/.exec(line);
		if (placed !== null) {
			provider = placed[1] as string;
			if (provider === 'WebGpu') placement.webgpu = Number(placed[2]);
		}
		const node = /VerifyEachNodeIsAssignedToAnEp\] {3}(\w+) \((\w+)\)/.exec(line);
		if (node !== null && provider === 'CPU') {
			placement.cpu.push({ operator: node[1] as string, name: node[2] as string });
		}
	}
	return programs;
}

/** The operators that docs/gpu.md lists as computed on the CPU. */
function documented(): Set<string> {
	const text = readFileSync(join(root, 'docs/gpu.md'), 'utf8');
	const section = /## Operators on the CPU\n([\s\S]*?)(?=\n## |$)/.exec(text)?.[1];
	assert.ok(section, 'docs/gpu.md has no section "Operators on the CPU"');
	return new Set([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name as string));
}

/** The log goes to a file, because the runtime drops output that a pipe does not accept immediately. */
function createSessions(): { readonly status: number | null; readonly stdout: string; readonly log: string } {
	const folder = mkdtempSync(join(tmpdir(), 'placement-'));
	const path = join(folder, 'log');
	const log = openSync(path, 'w');
	try {
		const program = join(import.meta.dirname, 'createSessions.ts');
		const { status, stdout } = spawnSync(process.execPath, [program], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', log],
		});
		return { status, stdout, log: readFileSync(path, 'utf8') };
	} finally {
		closeSync(log);
		rmSync(folder, { recursive: true });
	}
}

describe('placement on WebGPU', { skip }, () => {
	const run = createSessions();
	const programs = placements(run.log);
	const logSoftmax = programs.get('LogSoftmax');
	programs.delete('LogSoftmax');

	test('every program computes on WebGPU, except for the integer operators that docs/gpu.md lists', () => {
		assert.equal(run.status, 0, run.log.slice(-2000));
		assert.ok(programs.size >= 20, `${programs.size} programs`);
		const integers: Record<string, string[]> = JSON.parse(run.stdout);
		const allowed = documented();
		const used = new Set<string>();
		for (const [program, { webgpu, cpu }] of programs) {
			assert.ok(webgpu > 0, `${program} has ${webgpu} nodes on WebGPU`);
			for (const { operator, name } of cpu) {
				used.add(operator);
				assert.ok(allowed.has(operator), `${program}: ${operator} is computed on the CPU`);
				// The runtime adds its own nodes when it rewrites integer operations; ours have a number in their name.
				const ours = /_\d+$/.test(name) && !name.includes('token');
				assert.ok(!ours || integers[program]?.includes(name), `${program}: ${name} is computed on the CPU`);
			}
		}
		const unused = [...allowed].filter((operator) => !used.has(operator));
		assert.deepEqual(unused, [], 'docs/gpu.md lists operators that no program computes on the CPU');
	});

	test('LogSoftmax still has no kernel', () => {
		const operators = logSoftmax?.cpu.map(({ operator }) => operator);
		assert.deepEqual(
			operators,
			['LogSoftmax'],
			'LogSoftmax has a kernel now: set logSoftmax in webgpuDialect, and see docs/gpu.md',
		);
	});
});
