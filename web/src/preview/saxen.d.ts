declare module "saxen" {
  type Decode = (text: string) => string;

  /** Calls what it is given for each piece of an XML text. Knows the five entities of XML and numbers, and no others. */
  export class Parser {
    on(name: "openTag", act: (tag: string, attributes: () => Record<string, string>, decode: Decode) => void): this;
    on(name: "closeTag" | "error" | "warn", act: (tag: string) => void): this;
    on(name: "text", act: (text: string, decode: Decode) => void): this;
    on(name: "cdata", act: (text: string) => void): this;
    parse(xml: string): this;
    stop(): void;
  }
}
