// @dataset __NAME__.rows.jsonl
// A question about a database: the model explores it with SQL, then answers.
//
// An environment is an exported class. Trainers create instances without arguments, call reset with the columns of a
// dataset row, offer all other public methods to the model as tools, and call getReward when the episode is over. A
// tool's types and comments describe it to the model.
import { DatabaseSync } from 'node:sqlite';

interface Row {
	/** Statements that create the database. */
	readonly tables: string;
	readonly question: string;
	readonly answer: string;
}

const maxRows = 20;

export class __CLASS__ {
	/** Smallest and largest reward; verification reports values outside this range. */
	static readonly rewardRange = [0, 1];

	private tables = '';
	private answer = '';
	queries = 0;
	given: string | null = null;
	done = false;

	reset({ tables, question, answer }: Row): string {
		// Instances are reused, so set every property here.
		this.tables = tables;
		this.answer = answer;
		this.queries = 0;
		this.given = null;
		this.done = false;
		const schema = tables.split('\n').filter((line) => line.startsWith('CREATE TABLE'));
		return `${schema.join('\n')}\n\n${question}`;
	}

	/**
	 * Runs a query on the database.
	 *
	 * @param sql One SELECT statement for SQLite.
	 * @returns The names of the columns, then up to 20 rows.
	 */
	query(sql: string): string {
		// The error message becomes the tool's result, so the model can react to it.
		if (this.done) throw new Error('An answer has already been submitted.');
		// SELECT can neither write files nor attach other databases. Queries that could run forever are rejected as
		// well, because Node cannot interrupt them; others are subject to the turn's time limit.
		if (!/^\s*(?:select|with)\b/i.test(sql)) throw new Error('Only SELECT is allowed.');
		if (/\brecursive\b/i.test(sql)) throw new Error('Recursive queries are not allowed.');
		this.queries += 1;
		// Each query gets a separate database, so it cannot affect the next one.
		const database = new DatabaseSync(':memory:');
		try {
			database.exec(this.tables);
			const statement = database.prepare(sql);
			const lines: string[] = [];
			for (const row of statement.iterate()) {
				if (lines.length === 0) lines.push(Object.keys(row).join(' | '));
				lines.push(Object.values(row).join(' | '));
				if (lines.length > maxRows) break;
			}
			return lines.length === 0 ? 'No rows.' : lines.join('\n');
		} finally {
			database.close();
		}
	}

	/**
	 * Submits the answer. Can be called once.
	 *
	 * @param answer A name or a number, without any other words.
	 * @returns A confirmation.
	 */
	submit(answer: string): string {
		if (this.done) throw new Error('An answer has already been submitted.');
		this.given = answer.trim();
		this.done = true;
		return 'Submitted.';
	}

	getReward(): number {
		return this.given !== null && this.given.toLowerCase() === this.answer.toLowerCase() ? 1 : 0;
	}
}
