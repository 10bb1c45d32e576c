# frozen_string_literal: true

# Removes secrets from logs, status, metrics and errors: values by their names, and passwords in
# text by the text's shape.
#
#   Redaction.of("sasl.password" => "hunter2", url: "redis://u:hunter2@host")
#   # => {"sasl.password" => "[secret]", url: "redis://u:[secret]@host"}
#   Redaction.text("redis://u:p@ss/word@host")             # => "redis://u:[secret]@host"
#   Redaction.text('password="tiger"; user=ada', "***")    # => 'password="***"; user=ada'
#   Redaction.secret_name?("sasl.password")                # => true
#
# Each pattern reads a text once, however long it is: text comes from nodes.
module Skep
  module Redaction
    HIDDEN = "[secret]"
    NAMES = /pass(?:word|phrase|wd)|(?:\A|[^a-z])(?:pwd|pw)(?:\z|[^a-z])|[_.-]pass\z|
             secret|token|credential|authorization|cookie|(?:private|access|api)[_.-]?key|
             ssl\.key|\.pem\z|jaas|oauthbearer\.config/ix

    # A password may contain what would end it elsewhere: it ends at the last @ before a space or
    # the next URL. Digits and a slash after a host are its port.
    URL = %r{(://[^/\s:?#\[]{0,256}:)(?!\d{1,5}[/?#])(?:(?!://)\S)*@}

    # "root:tiger@tcp(localhost)/db"
    DSN = %r{(?<=\w:)(?!//)\S{1,256}?(?=@(?:tcp|unix)\()}

    # A name, a separator, and a value: in quotes, or up to the next separator.
    BETWEEN = /\\?["']?(?>\s{0,3})(?:=>|[=:])(?>\s{0,3})\\?/
    QUOTED = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/
    PLAIN = /(?!\[secret\]|\*\*\*)[^\s,;&"'\])}]+/
    WORD = /(?:pass(?:word|phrase|wd)|(?<![a-z])(?:pwd|pw)|secret|credential|
             (?:private|access|api)[_.-]?key)(?>[\w.-]{0,32})/ix
    NAMED = /(?<name>#{WORD}#{BETWEEN})(?:(?<quoted>#{QUOTED})|#{PLAIN})/i
    # Parsers report an unexpected token, too: one after a colon must be in quotes.
    TOKEN = /(?<name>token(?>[\w.-]{0,32})
               (?:\\?["']?(?>\s{0,3})=>?(?>\s{0,3})\\?|#{BETWEEN}(?=["'])))
             (?:(?<quoted>#{QUOTED})|#{PLAIN})/ix
    # Their values have several words.
    HEADER = /(?<name>(?:authorization|(?:set-)?cookie)#{BETWEEN})
              (?:(?<quoted>#{QUOTED})|(?!\[secret\]|\*\*\*)[^\r\n"']+)/ix
    HINT = /pass|pwd|pw|secret|credential|key|token|authorization|cookie/i
    LISTED = %w[works partitions held].freeze # hold numbers by names of works, topics
    private_constant :LISTED, :NAMES, :URL, :DSN, :BETWEEN, :QUOTED, :PLAIN, :WORD, :NAMED, :TOKEN,
                     :HEADER, :HINT

    class << self
      # Returns plain data of the same shape, without secrets in its values and keys. Numbers by the
      # names of works or topics are no secrets, whatever the names are.
      # names: what is known of the names so far. A status has the same few in thousands of rows.
      def of(value, names = {}, within: nil)
        case value
        when Hash
          clean = {}
          numbers = LISTED.include?(within.to_s) && value.each_value.all? { |held| numbers?(held) }
          value.each_pair do |name, held|
            key, secret = names[name] ||= name(name)
            hidden = secret && !held.nil? && !numbers
            clean[key] = hidden ? HIDDEN : of(held, names, within: name)
          end
          clean
        when Array then value.map { |held| of(held, names) }
        when String then text(value)
        else value
        end
      end

      # Returns the same text if it contains no secret, else UTF-8.
      def text(text, hidden = HIDDEN)
        clean = readable(text)
        clean = clean.gsub(URL, "\\1#{hidden}@") if clean.include?("://")
        clean = clean.gsub(DSN, hidden) if clean.match?(/@(?:tcp|unix)\(/)
        clean = named(clean, hidden) if clean.match?(HINT)
        clean
      end

      # Returns the name without a secret in it, and whether a value of this name is one.
      def name(name) = [key(name), secret_name?(name)]

      # Returns true if a value of this name is a secret.
      def secret_name?(name) = readable(name.to_s).match?(NAMES)

      private

      def numbers?(value)
        value.is_a?(Numeric) || (value.is_a?(Array) && value.all?(Numeric))
      end

      # Most keys contain no secret, and stay the same objects.
      def key(key)
        return key unless key.is_a?(String) || key.is_a?(Symbol)

        original = key.to_s
        clean = text(original)
        return key if clean == original

        key.is_a?(Symbol) ? clean.to_sym : clean
      end

      # Returns text that patterns can match.
      def readable(text)
        return text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless
          text.encoding.ascii_compatible?

        text.valid_encoding? ? text : text.scrub("?")
      end

      def named(text, hidden)
        [HEADER, NAMED, TOKEN].reduce(text) do |clean, pattern|
          clean.gsub(pattern) do
            found = $~
            quote = found[:quoted] ? found[:quoted][0] : ""
            "#{found[:name]}#{quote}#{hidden}#{quote}"
          end
        end
      end
    end
  end
end
