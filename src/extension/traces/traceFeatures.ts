import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import type { TraceNode } from '../../core/trace/traceOutline.ts';
import { traceLanguage } from '../ids.ts';

const symbolKinds: Readonly<Record<TraceNode['kind'], vscode.SymbolKind>> = {
	section: vscode.SymbolKind.Namespace,
	step: vscode.SymbolKind.Method,
	boxed: vscode.SymbolKind.Constant,
};

/** Outline and folding for all documents in the trace language: recorded completions and `*.trace` files. */
export class TraceFeatures extends Disposable implements vscode.DocumentSymbolProvider, vscode.FoldingRangeProvider {
	constructor() {
		super();
		const traces: vscode.DocumentSelector = { language: traceLanguage };
		this.register(vscode.languages.registerDocumentSymbolProvider(traces, this, { label: 'Reasoning trace' }));
		this.register(vscode.languages.registerFoldingRangeProvider(traces, this));
	}

	async provideDocumentSymbols(document: vscode.TextDocument): Promise<vscode.DocumentSymbol[]> {
		const symbolOf = (node: TraceNode): vscode.DocumentSymbol => {
			const range = new vscode.Range(document.positionAt(node.start), document.positionAt(node.end));
			const head = new vscode.Range(range.start, range.start);
			const symbol = new vscode.DocumentSymbol(node.title, node.detail, symbolKinds[node.kind], range, head);
			symbol.children = node.children.map(symbolOf);
			return symbol;
		};
		return (await outlineOf(document)).map(symbolOf);
	}

	async provideFoldingRanges(document: vscode.TextDocument): Promise<vscode.FoldingRange[]> {
		const ranges: vscode.FoldingRange[] = [];
		const visit = (nodes: readonly TraceNode[]) => {
			for (const node of nodes) {
				const start = document.positionAt(node.start).line;
				const end = document.positionAt(node.end).line;
				if (end > start && node.kind !== 'boxed') ranges.push(new vscode.FoldingRange(start, end));
				visit(node.children);
			}
		};
		visit(await outlineOf(document));
		return ranges;
	}
}

/** Loaded with the first trace. */
async function outlineOf(document: vscode.TextDocument): Promise<TraceNode[]> {
	const { traceOutline } = await import('../../core/trace/traceOutline.ts');
	return traceOutline(document.getText());
}
