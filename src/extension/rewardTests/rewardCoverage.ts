import * as vscode from 'vscode';
import type { LineCoverage } from '../../protocol/rewardHost.ts';

/** Line coverage of a reward file. The lines are provided on demand. */
export class RewardCoverage extends vscode.FileCoverage {
	readonly details: readonly vscode.StatementCoverage[];

	constructor(uri: vscode.Uri, { lines, reached }: LineCoverage) {
		super(uri, new vscode.TestCoverageCount(reached.length, lines.length));
		const hit = new Set(reached);
		this.details = lines.map((line) => new vscode.StatementCoverage(hit.has(line), new vscode.Position(line - 1, 0)));
	}
}

export function coverageOf(file: string, coverage: LineCoverage): RewardCoverage {
	return new RewardCoverage(vscode.Uri.file(file), coverage);
}
