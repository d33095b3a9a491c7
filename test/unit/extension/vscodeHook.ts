import { registerHooks } from 'node:module';

const url = import.meta.resolve('./vscodeStandIn.ts');

// Host modules that are imported after this one find the stand-in under the editor's name.
registerHooks({
	resolve: (specifier, context, next) =>
		specifier === 'vscode' ? { url, shortCircuit: true } : next(specifier, context),
});
