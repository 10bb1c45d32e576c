# frozen_string_literal: true

# Makes a warning about skep's own code, or about its tests, an error. Warnings of gems are printed.
module StrictWarnings
  ROOT = File.expand_path("../..", __dir__)
  OURS = %r{\A(?:#{Regexp.escape(ROOT)}/)?(?:lib|test|exe)/}
  private_constant :ROOT, :OURS

  def warn(message, category: nil, **)
    raise "a warning: #{message}" if OURS.match?(message)

    super
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.singleton_class.prepend(StrictWarnings)
