# frozen_string_literal: true

# Finds what must not appear in logs, status, metrics and errors: values by their names, and
# passwords in text by the text's shape.
#
#   Secrets.name?("sasl.password")                      # => true
#   Secrets.hide("redis://u:p@ss/word@host", "***")     # => "redis://u:***@host"
#   Secrets.hide('password="tiger"; user=ada', "***")   # => 'password="***"; user=ada'
#
# Each pattern reads a text once, however long it is: text comes from nodes.
module Skep
  module Secrets
    NAMES = /pass(?:word|phrase|wd)|(?:\A|[^a-z])(?:pwd|pw)(?:\z|[^a-z])|[_.-]pass\z|
             secret|token|credential|authorization|cookie|(?:private|access|api)[_.-]?key|
             ssl\.key|\.pem\z|jaas|oauthbearer\.config/ix

    # A password may hold what would end it elsewhere: it ends at the last @ before a space or
    # the next URL. Digits and a slash after a host are its port.
    URL = %r{(://[^/\s:?#\[]{0,256}:)(?!\d{1,5}[/?#])(?:(?!://)\S)*@}

    # "root:tiger@tcp(localhost)/db"
    DSN = %r{(?<=\w:)(?!//)\S{1,256}?(?=@(?:tcp|unix)\()}

    # A name, what stands between, and a value: in quotes, or to the next separator.
    BETWEEN = /\\?["']?(?>\s{0,3})(?:=>|[=:])(?>\s{0,3})\\?/
    SHUT = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/
    OPEN = /(?!\[secret\]|\*\*\*)[^\s,;&"'\])}]+/
    WORD = /(?:pass(?:word|phrase|wd)|(?<![a-z])(?:pwd|pw)|secret|credential|
             (?:private|access|api)[_.-]?key)(?>[\w.-]{0,32})/ix
    NAMED = /(?<name>#{WORD}#{BETWEEN})(?:(?<shut>#{SHUT})|#{OPEN})/i
    # Parsers report an unexpected token, too: one after a colon must be in quotes.
    TOKEN = /(?<name>token(?>[\w.-]{0,32})
               (?:\\?["']?(?>\s{0,3})=>?(?>\s{0,3})\\?|#{BETWEEN}(?=["'])))
             (?:(?<shut>#{SHUT})|#{OPEN})/ix
    # Their values have several words.
    HEADER = /(?<name>(?:authorization|(?:set-)?cookie)#{BETWEEN})
              (?:(?<shut>#{SHUT})|(?!\[secret\]|\*\*\*)[^\r\n"']+)/ix
    HINT = /pass|pwd|pw|secret|credential|key|token|authorization|cookie/i
    private_constant :NAMES, :URL, :DSN, :BETWEEN, :SHUT, :OPEN, :WORD, :NAMED, :TOKEN, :HEADER,
                     :HINT

    module_function

    def name?(name) = readable(name.to_s).match?(NAMES) #: (untyped) -> bool

    # Returns the same text if it holds nothing to hide. It is UTF-8 else.
    def hide(text, hidden) #: (String, String) -> String
      clean = readable(text)
      clean = clean.gsub(URL, "\\1#{hidden}@") if clean.include?("://")
      clean = clean.gsub(DSN, hidden) if clean.match?(/@(?:tcp|unix)\(/)
      clean = named(clean, hidden) if clean.match?(HINT)
      clean
    end

    # As text of which patterns can be asked.
    def readable(text)
      return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless
        text.encoding.ascii_compatible?

      text.valid_encoding? ? text : text.scrub("?")
    end
    private_class_method :readable

    def named(text, hidden)
      [HEADER, NAMED, TOKEN].reduce(text) do |clean, pattern|
        clean.gsub(pattern) do
          found = $~
          quote = found[:shut] ? found[:shut][0] : ""
          "#{found[:name]}#{quote}#{hidden}#{quote}"
        end
      end
    end
    private_class_method :named
  end
end
