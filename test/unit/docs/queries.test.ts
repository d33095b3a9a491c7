import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { indexViews } from '../../../src/protocol/indexViews.ts';
import { RolloutIndex } from '../../../src/rolloutIndex/rolloutIndex.ts';
import { makeRolloutFolder } from '../../bench/rolloutFolder.ts';
import { root } from '../../scripts/paths.ts';

const examples = [...(await readFile(join(root, 'docs/queries.md'), 'utf8')).matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(
	([, sql]) => sql as string,
);

describe('docs/queries.md', () => {
	let lab: RolloutIndex;
	let folder: string;

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'queries-'));
		await makeRolloutFolder(folder, { rollouts: 400, perGroup: 4, groups: 10, bytes: 1200 });
		lab = await RolloutIndex.open({ storage: null });
		await lab.index(folder);
		await lab.index(join(root, 'test/fixtures/trl-run'));
		await lab.index(join(root, 'test/fixtures/inspect-tools'));
	});
	after(async () => {
		await lab.close();
		await rm(folder, { recursive: true });
	});

	it('documents exactly the columns of every view, with their types', async () => {
		const { rows } = await lab.sql({
			sql: 'select view_name from duckdb_views() where not internal order by 1',
			limit: 99,
		});
		assert.deepEqual(rows.flat(), indexViews.map(({ name }) => name).toSorted());
		for (const { name, columns } of indexViews) {
			const { rows } = await lab.sql({ sql: `describe ${name}`, limit: 99 });
			assert.deepEqual(
				rows.map(([column, type]) => [column, type]),
				columns.map(({ name: column, type }) => [column, type]),
				name,
			);
		}
	});

	it('contains at least ten examples', () => assert.ok(examples.length >= 10));

	for (const sql of examples) {
		it(`runs: ${sql.split('\n')[0]}`, async () => {
			const { rows, columns } = await lab.sql({ sql, limit: 1000 });
			assert.ok(columns.length > 0);
			// Neither run has evaluations or failed rewards.
			if (!/from evaluations|value is null/.test(sql)) assert.ok(rows.length > 0);
		});
	}

	it('resolves rows to rollouts by the documented columns', async () => {
		const { refs } = await lab.sql({ sql: examples.find((sql) => sql.includes('"index"')) ?? '', limit: 10 });
		assert.ok(refs !== null && refs.length > 0 && refs.every((ref) => ref !== null));
	});
});
