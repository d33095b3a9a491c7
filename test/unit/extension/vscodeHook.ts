import { registerHooks } from 'node:module';

const url = import.meta.resolve('./vscodeStandIn.ts');

// Modules imported after this one get the stand-in when they import `vscode`.
registerHooks({
	resolve: (specifier, context, next) =>
		specifier === 'vscode' ? { url, shortCircuit: true } : next(specifier, context),
});
